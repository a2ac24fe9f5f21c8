package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const limited = `
code_interpreter {
	STANDARD
	max_request_body 64KiB
}
reverse_proxy UPSTREAM
`

const tool = `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`

func TestWhatDoesNotConcernUsPassesByteForByte(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		method, path, contentType, encoding string
		body                                string
		chunked                             bool
	}{
		"no tool":             {body: `{ "input" : "hi",  "model":"m", "n": 1.0e0}`},
		"other tool":          {body: `{"tools":[{"type":"function","name":"code_interpreter"}]}`},
		"words in text":       {body: `{"input":"use \"tools\":[{\"type\":\"code_interpreter\"}]"}`},
		"words, malformed":    {body: `{"input":"code_interpreter", "tools":[{"type":"code_interpreter`},
		"words, no JSON":      {body: `code_interpreter`},
		"words, array":        {body: `[{"tools":[{"type":"code_interpreter"}]}]`},
		"words, twice":        {body: `{"a":1,"a":2,"input":"code_interpreter"}`},
		"not UTF-8":           {body: "{\"input\":\"code_interpreter \xff\xfe\"}"},
		"escapes":             {body: `{"input":"\u0063\ud83d\ude00"}`},
		"empty":               {},
		"gzip":                {encoding: "gzip", body: string(zip(`{"input":"code_interpreter"}`))},
		"gzip, broken":        {encoding: "gzip", body: "code_interpreter"},
		"zstd":                {encoding: "zstd", body: string(zstandard(`{"input":"code_interpreter"}`))},
		"zstd, broken":        {encoding: "zstd", body: "code_interpreter"},
		"br":                  {encoding: "br", body: `{` + tool + `}`},
		"unknown coding":      {encoding: "gzip, br", body: `{` + tool + `}`},
		"chunked":             {body: `{"input":"hi"}`, chunked: true},
		"chunked, words":      {body: `{"input":"code_interpreter"}`, chunked: true},
		"over the cap":        {body: `{"input":"` + long + `"}`},
		"over, chunked":       {body: `{"input":"` + long + `"}`, chunked: true},
		"over, gzip":          {encoding: "gzip", body: string(zip(`{"input":"` + long + `"}`))},
		"other path":          {path: "/v1/embeddings", body: `{` + tool + `}`},
		"longer path":         {path: "/v1/responses/resp_1/cancel", body: `{` + tool + `}`},
		"other type":          {contentType: "text/plain", body: `{` + tool + `}`},
		"form":                {contentType: "multipart/form-data; boundary=x", body: `{` + tool + `}`},
		"GET":                 {method: http.MethodGet, path: "/v1/responses/resp_1?include=x%2Fy"},
		"DELETE":              {method: http.MethodDelete, path: "/v1/responses/resp_1"},
		"PUT":                 {method: http.MethodPut, body: `{` + tool + `}`},
		"OPTIONS":             {method: http.MethodOptions},
		"foreign history":     {body: `{"input":[{"type":"code_interpreter_call","id":"ci_1","container_id":"cntr_1"}]}`},
		"foreign predecessor": {body: `{"previous_response_id":"resp_1","input":"code_interpreter"}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, http.HandlerFunc(echo)).start(limited)
			var body io.Reader = strings.NewReader(c.body)
			if c.chunked {
				body = struct{ io.Reader }{body}
			}
			r := b.request(body)
			if c.method != "" {
				r.Method = c.method
			}
			path, query, _ := strings.Cut(c.path, "?")
			if path != "" {
				r.URL.Path, r.URL.RawQuery = path, query
			}
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			r.Header.Set("Accept-Encoding", "br, x")
			a := b.do(r)
			length, transfer := fmt.Sprint(len(c.body)), "[]"
			if c.chunked {
				length, transfer = "-1", "[chunked]"
			}
			for name, want := range map[string]string{
				"Seen-Method": r.Method, "Seen-Uri": r.URL.RequestURI(), "Seen-Length": length,
				"Seen-Transfer": transfer, "Seen-Encoding": c.encoding, "Seen-Accept": "br, x",
			} {
				if got := a.header.Get(name); got != want {
					t.Errorf("%s is %q, not %q", name, got, want)
				}
			}
			if a.status != http.StatusOK || !bytes.Equal(a.body, []byte(c.body)) {
				t.Errorf("status %d, %d bytes of %d: %.200q", a.status, len(a.body), len(c.body), a.body)
			}
			if b.fake.Created() != 0 {
				t.Error("a container was made")
			}
		})
	}
}

func TestToolIsFoundHoweverItIsSpelled(t *testing.T) {
	whole := question("", simple)
	for name, body := range map[string]string{
		"escaped letter":     strings.Replace(whole, `"code_interpreter"`, `"\u0063ode_interpreter"`, 1),
		"escaped underscore": strings.Replace(whole, `"code_interpreter"`, `"code\u005Finterpreter"`, 1),
		"escaped key":        strings.Replace(whole, `"tools"`, `"t\u006fols"`, 1),
		"all escaped":        strings.Replace(whole, `"code_interpreter"`, `"`+escaped("code_interpreter")+`"`, 1),
		"spread out":         strings.Replace(whole, `{"type":"code_interpreter"`, "{\r\n\t\"type\"  :\n\"code_interpreter\"", 1),
		"behind a mark":      whole + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			newBed(t, newTurns()).start(behindProxy).post(body).completed()
		})
	}
	t.Run("charset", func(t *testing.T) {
		b := newBed(t, newTurns()).start(behindProxy)
		r := b.request(strings.NewReader(whole))
		r.Header.Set("Content-Type", "Application/JSON ; charset=UTF-8")
		b.do(r).completed()
	})
}

func escaped(text string) string {
	var b strings.Builder
	for _, c := range text {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

func TestToolThatIsHiddenByADuplicateKeyIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"first":     `{"model":"m","input":"x",` + tool + `,"tools":[]}`,
		"last":      `{"model":"m","input":"x","tools":[],` + tool + `}`,
		"in tool":   `{"model":"m","input":"x","tools":[{"type":"code_interpreter","type":"function","name":"f"}]}`,
		"escaped":   `{"model":"m","input":"x","tools":[],` + strings.Replace(tool, "tools", `\u0074ools`, 1) + `}`,
		"elsewhere": `{"model":"m","model":"n","input":"x",` + tool + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			up := newTurns()
			newBed(t, up).start(behindProxy).post(body).refused(http.StatusBadRequest)
			if len(up.requests()) > 0 {
				t.Error("the upstream was asked")
			}
		})
	}
}

func TestBodyOverTheCapWithTheToolIsRefused(t *testing.T) {
	long := `"input":"` + strings.Repeat("x", 200<<10) + `"`
	for name, body := range map[string]string{
		"tool first": `{"model":"m",` + tool + `,` + long + `}`,
		"words":      `{"model":"m","instructions":"code_interpreter",` + long + `,` + tool + `}`,
	} {
		for _, coding := range []string{"", "gzip"} {
			t.Run(name+coding, func(t *testing.T) {
				up := newTurns()
				b := newBed(t, up).start(limited)
				var r *http.Request
				if coding == "" {
					r = b.request(strings.NewReader(body))
				} else {
					r = b.request(bytes.NewReader(zip(body)))
					r.Header.Set("Content-Encoding", coding)
				}
				e := b.do(r).refused(http.StatusRequestEntityTooLarge)
				if !strings.Contains(text(e["message"]), "max_request_body") {
					t.Errorf("got %v", e)
				}
				if len(up.requests()) > 0 {
					t.Error("the upstream was asked")
				}
			})
		}
	}
}
