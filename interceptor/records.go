package interceptor

import (
	"container/list"
	"sync"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// Records remember, for a while and bounded, what only this gateway knows of a
// response: the outputs of its calls, and which upstream response it ended
// with (decision 11). They hold no conversations. An owner sees only its own;
// nobody's (an anonymous owner's) are not kept.
type Records struct {
	mu        sync.Mutex
	order     *list.List // of *record, oldest first
	responses map[recordKey]*list.Element
	calls     map[recordKey]*list.Element
	bytes     int
	now       func() time.Time
}

const (
	maxRecords     = 4096
	maxRecordBytes = 64 << 20
	// One owner's share of either; its own oldest records give way beyond it,
	// so that nobody drops another's by keeping many or large ones.
	ownerRecords     = maxRecords / 8
	ownerRecordBytes = maxRecordBytes / 8
)

type recordKey struct {
	owner sandbox.Owner
	id    string
}

// responseRecord is what a later previous_response_id needs.
type responseRecord struct {
	upstreamID string
	unseen     []rawjson.Value // outputs that the upstream has not been sent
	container  string
	turns      []string // ids of the upstream's responses, one per turn
	final      []byte   // as the client got it; nil when it asked for no storing
}

// callRecord is what a code_interpreter_call in history stands for.
type callRecord struct {
	itemID, callID string // the upstream's
	code           string
	output         string // as the model saw it
}

type record struct {
	owner    sandbox.Owner
	id       string
	response responseRecord
	calls    map[string]callRecord // by the client's item id
	expires  time.Time
	bytes    int
}

// NewRecords returns an empty store.
func NewRecords() *Records {
	return &Records{
		order:     list.New(),
		responses: map[recordKey]*list.Element{},
		calls:     map[recordKey]*list.Element{},
		now:       time.Now,
	}
}

// Empty reports whether no record is kept, so that no body needs a look for
// the id of one.
func (r *Records) Empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.order.Len() == 0
}

// Has reports whether the owner has a record of the response.
func (r *Records) Has(owner sandbox.Owner, id string) bool {
	_, ok := r.Response(owner, id)
	return ok
}

// Response finds the record of a response.
func (r *Records) Response(owner sandbox.Owner, id string) (responseRecord, bool) {
	rec := r.find(r.responses, recordKey{owner, id})
	if rec == nil {
		return responseRecord{}, false
	}
	return rec.response, true
}

// Call finds what is known of a code_interpreter_call.
func (r *Records) Call(owner sandbox.Owner, id string) (callRecord, bool) {
	rec := r.find(r.calls, recordKey{owner, id})
	if rec == nil {
		return callRecord{}, false
	}
	return rec.calls[id], true
}

func (r *Records) find(index map[recordKey]*list.Element, key recordKey) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := index[key]
	if e == nil {
		return nil
	}
	rec := e.Value.(*record)
	if r.now().After(rec.expires) {
		r.drop(e)
		return nil
	}
	return rec
}

// keep stores a record for the time given; the oldest give way.
func (r *Records) keep(rec *record, ttl time.Duration) {
	if rec.owner.Anonymous() || rec.id == "" {
		return
	}
	if rec.bytes = rec.size(); rec.bytes > ownerRecordBytes {
		rec.response.final = nil // it cannot be retrieved then, but still be continued
		if rec.bytes = rec.size(); rec.bytes > ownerRecordBytes {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.expires = r.now().Add(ttl)
	if old := r.responses[recordKey{rec.owner, rec.id}]; old != nil {
		r.drop(old)
	}
	e := r.order.PushBack(rec)
	r.responses[recordKey{rec.owner, rec.id}] = e
	for id := range rec.calls {
		r.calls[recordKey{rec.owner, id}] = e
	}
	r.bytes += rec.bytes
	r.trimOwner(rec.owner)
	for r.order.Len() > maxRecords || r.bytes > maxRecordBytes || r.now().After(r.order.Front().Value.(*record).expires) {
		r.drop(r.order.Front())
		if r.order.Len() == 0 {
			return
		}
	}
}

// size is what a record holds of memory, as far as others decide it.
func (rec *record) size() int {
	n := len(rec.id) + len(rec.response.upstreamID) + len(rec.response.container) + len(rec.response.final)
	for id, c := range rec.calls {
		n += len(id) + len(c.itemID) + len(c.callID) + len(c.code) + len(c.output)
	}
	for _, v := range rec.response.unseen {
		n += len(v)
	}
	for _, id := range rec.response.turns {
		n += len(id)
	}
	return n
}

// trimOwner drops an owner's oldest records beyond its share; the caller holds
// the lock.
func (r *Records) trimOwner(owner sandbox.Owner) {
	count, size := 0, 0
	for e := r.order.Back(); e != nil; {
		older := e.Prev()
		if rec := e.Value.(*record); rec.owner == owner {
			count++
			size += rec.bytes
			if count > ownerRecords || size > ownerRecordBytes {
				r.drop(e)
			}
		}
		e = older
	}
}

// forget drops the record of a response.
func (r *Records) forget(owner sandbox.Owner, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.responses[recordKey{owner, id}]; e != nil {
		r.drop(e)
	}
}

// drop forgets a record; the caller holds the lock.
func (r *Records) drop(e *list.Element) {
	rec := r.order.Remove(e).(*record)
	r.bytes -= rec.bytes
	delete(r.responses, recordKey{rec.owner, rec.id})
	for id := range rec.calls {
		if r.calls[recordKey{rec.owner, id}] == e {
			delete(r.calls, recordKey{rec.owner, id})
		}
	}
}
