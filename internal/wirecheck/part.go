package wirecheck

import (
	"reflect"
	"strings"
)

// parts are the content of an item, or the summary of a reasoning item.
type parts struct {
	index string // name of the member that counts them
	list  []*part
}

type part struct {
	kind        string
	text        text
	annotations []any
	done        object // nil until then
}

// text is what deltas add up to.
type text struct {
	sum  strings.Builder
	done bool
}

// textKey is the member of a part that has its text.
func textKey(kind string) string {
	if kind == "refusal" {
		return "refusal"
	}
	return "text"
}

// partOf is the type of the part that a text event belongs to.
func partOf(event string) string {
	for prefix, kind := range map[string]string{
		"response.output_text.": "output_text", "response.refusal.": "refusal",
		"response.reasoning_text.": "reasoning_text", "response.reasoning_summary_text.": "summary_text",
	} {
		if strings.HasPrefix(event, prefix) {
			return kind
		}
	}
	return ""
}

func (c *checker) contentPartAdded(m object) { c.partAdded(&c.open.content, m) }
func (c *checker) contentPartDone(m object)  { c.partDone(&c.open.content, m) }
func (c *checker) contentDelta(m object)     { c.partDelta(&c.open.content, m) }
func (c *checker) contentText(m object)      { c.partText(&c.open.content, m) }
func (c *checker) summaryPartAdded(m object) { c.partAdded(&c.open.summary, m) }
func (c *checker) summaryPartDone(m object)  { c.partDone(&c.open.summary, m) }
func (c *checker) summaryDelta(m object)     { c.partDelta(&c.open.summary, m) }
func (c *checker) summaryText(m object)      { c.partText(&c.open.summary, m) }

func (c *checker) partAdded(ps *parts, m object) {
	if n := len(ps.list); n > 0 && ps.list[n-1].done == nil {
		c.failf("the part before is not done")
	}
	if !m.is(ps.index, len(ps.list)) {
		c.failf("%s is %v, not %d", ps.index, m[ps.index], len(ps.list))
	}
	p := &part{kind: m.obj("part").str("type"), annotations: []any{}}
	if s, ok := m.obj("part")[textKey(p.kind)].(string); !ok || s != "" {
		c.failf("text of an added part is %v, not empty", m.obj("part")[textKey(p.kind)])
	}
	if p.kind == "output_text" && !m.obj("part").isEmptyList("annotations") {
		c.failf("annotations of an added part are not []")
	}
	ps.list = append(ps.list, p)
}

// openPart returns the part that an event is about, or nil.
func (c *checker) openPart(ps *parts, m object) *part {
	n := len(ps.list)
	if n == 0 || ps.list[n-1].done != nil {
		c.failf("no part is open")
		return nil
	}
	if !m.is(ps.index, n-1) {
		c.failf("%s is %v, the open part is %d", ps.index, m[ps.index], n-1)
	}
	p := ps.list[n-1]
	if kind := partOf(m.str("type")); kind != "" && kind != p.kind {
		c.failf("the open part is of type %q", p.kind)
	}
	return p
}

func (c *checker) partDelta(ps *parts, m object) {
	if p := c.openPart(ps, m); p != nil {
		c.delta(&p.text, m)
		if len(p.annotations) > 0 {
			c.failf("delta after an annotation")
		}
	}
}

func (c *checker) delta(t *text, m object) {
	if t.done {
		c.failf("delta after done")
	}
	if !m.isStr("delta") {
		c.failf("delta is %v, not a string", m["delta"])
	}
	t.sum.WriteString(m.str("delta"))
}

// sum checks the text of a done event against the deltas.
func (c *checker) sum(t *text, m object, key string) {
	if t.done {
		c.failf("done twice")
	}
	t.done = true
	if !m.isStr(key) || m.str(key) != t.sum.String() {
		c.failf("%s %.80q is not the sum of the deltas %.80q", key, m[key], t.sum.String())
	}
}

func (c *checker) annotation(m object) {
	p := c.openPart(&c.open.content, m)
	if p == nil {
		return
	}
	if p.text.done {
		c.failf("annotation after the text is done")
	}
	if !m.is("annotation_index", len(p.annotations)) {
		c.failf("annotation_index is %v, not %d", m["annotation_index"], len(p.annotations))
	}
	a := m.obj("annotation")
	if a.str("type") == "container_file_citation" {
		for _, key := range []string{"container_id", "file_id", "filename", "start_index", "end_index"} {
			if !a.has(key) || len(a) != 6 {
				c.failf("container_file_citation has the keys %v", a.keys())
				break
			}
		}
	}
	p.annotations = append(p.annotations, m["annotation"])
}

func (c *checker) partText(ps *parts, m object) {
	if p := c.openPart(ps, m); p != nil {
		c.sum(&p.text, m, textKey(p.kind))
	}
}

func (c *checker) partDone(ps *parts, m object) {
	p := c.openPart(ps, m)
	if p == nil {
		return
	}
	p.done = m.obj("part")
	if p.done.str("type") != p.kind {
		c.failf("type of the done part is %v, added was %q", p.done["type"], p.kind)
	}
	if !p.text.done {
		c.failf("the text of the part is not done")
	}
	if p.done.str(textKey(p.kind)) != p.text.sum.String() {
		c.failf("text of the done part is not the sum of the deltas")
	}
	if p.kind == "output_text" && !reflect.DeepEqual(p.done["annotations"], any(p.annotations)) {
		c.failf("annotations of the done part are not those that were added")
	}
}

// partsDone compares a done item with the parts before.
func (c *checker) partsDone(ps *parts, done object, key string) {
	list, isList := done.list(key)
	if !isList && (done.has(key) || len(ps.list) > 0 || key == "summary" || c.open.kind == "message") {
		c.failf("%s of the done item is not a list", key)
		return
	}
	if len(list) != len(ps.list) {
		c.failf("%s of the done item has %d parts, %d were added", key, len(list), len(ps.list))
		return
	}
	for i, p := range ps.list {
		if p.done == nil {
			c.failf("part %d is not done", i)
		} else if m, _ := list[i].(map[string]any); difference(m, p.done) != "" {
			c.failf("%s[%d] of the done item differs from the done part in %s", key, i, difference(m, p.done))
		}
	}
}
