package model

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// maxStored is how many responses are kept.
const maxStored = 1000

// store keeps the responses that previous_response_id and item references may
// name, and which item each reasoning item belongs to.
type store struct {
	mu        sync.Mutex
	responses map[string]stored
	order     []string
	items     map[string]json.RawMessage // of stored responses, by id
	needs     map[string]string          // reasoning id of an item, stored or not
}

// stored is a response and the conversation up to its end.
type stored struct {
	response json.RawMessage
	input    []json.RawMessage // the request's own input
	items    []json.RawMessage // all input items, then the output
	output   []string          // ids of the output items
}

// keep remembers a finished response. Of one with "store": false only the
// links from items to their reasoning are kept.
func (s *store) keep(id string, response stored, output []object, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.responses == nil {
		s.responses = make(map[string]stored)
		s.items = make(map[string]json.RawMessage)
		s.needs = make(map[string]string)
	}

	reasoning := ""
	for _, item := range output {
		itemID := item["id"].(string)
		response.output = append(response.output, itemID)
		if item["type"] == "reasoning" {
			reasoning = itemID
		} else if reasoning != "" {
			s.needs[itemID], reasoning = reasoning, ""
		}
		if keep {
			raw := json.RawMessage(marshal(item))
			s.items[itemID] = raw
			response.items = append(response.items, raw)
		}
	}
	if !keep {
		response = stored{output: response.output}
	}
	s.responses[id] = response
	s.order = append(s.order, id)
	if len(s.order) > maxStored {
		s.forget(s.order[0])
	}
}

// forget drops a response. The caller holds the lock.
func (s *store) forget(id string) {
	for _, item := range s.responses[id].output {
		delete(s.items, item)
		delete(s.needs, item)
	}
	delete(s.responses, id)
	if i := slices.Index(s.order, id); i >= 0 {
		s.order = slices.Delete(s.order, i, i+1)
	}
}

func (s *store) get(id string) (stored, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	response, ok := s.responses[id]
	return response, ok && response.response != nil
}

func (s *store) item(id string) (json.RawMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, ok := s.items[id]
	return item, ok
}

// reasoningOf returns the id of the reasoning item that an item came with.
func (s *store) reasoningOf(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.needs[id]
}

func (m *Model) getResponse(w http.ResponseWriter, r *http.Request) {
	m.journal.add(r, nil)
	response, ok := m.store.get(r.PathValue("id"))
	if !ok {
		writeError(w, noResponse(r.PathValue("id")))
		return
	}
	writeJSON(w, http.StatusOK, response.response)
}

func (m *Model) deleteResponse(w http.ResponseWriter, r *http.Request) {
	m.journal.add(r, nil)
	id := r.PathValue("id")
	if _, ok := m.store.get(id); !ok {
		writeError(w, noResponse(id))
		return
	}
	m.store.mu.Lock()
	m.store.forget(id)
	m.store.mu.Unlock()
	writeJSON(w, http.StatusOK, object{"id": id, "object": "response", "deleted": true})
}

// listInputItems lists all input items; it knows no pages.
func (m *Model) listInputItems(w http.ResponseWriter, r *http.Request) {
	m.journal.add(r, nil)
	response, ok := m.store.get(r.PathValue("id"))
	if !ok {
		writeError(w, noResponse(r.PathValue("id")))
		return
	}
	data := make([]object, 0, len(response.input))
	for _, raw := range response.input {
		item := make(object)
		_ = json.Unmarshal(raw, &item)
		if item["id"] == nil {
			item["id"] = newID("msg_")
		}
		if item["type"] == nil {
			item["type"] = "message"
		}
		data = append(data, item)
	}
	if r.URL.Query().Get("order") != "asc" {
		slices.Reverse(data)
	}
	list := object{"object": "list", "data": data, "first_id": nil, "last_id": nil, "has_more": false}
	if len(data) > 0 {
		list["first_id"], list["last_id"] = data[0]["id"], data[len(data)-1]["id"]
	}
	writeJSON(w, http.StatusOK, list)
}

func noResponse(id string) *apiError {
	return &apiError{Status: http.StatusNotFound, Message: "Response with id '" + id + "' not found."}
}
