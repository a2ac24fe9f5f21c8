package sandbox

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// collect returns what a collector makes of outs, in short: "T:…" for Text,
// "V:…", "B:…" for a traceback, "I:…" for an image's data.
func collect(limits Limits, outs ...Output) ([]string, int64) {
	c := newCollector(limits.withDefaults(), func() {})
	for _, o := range outs {
		c.emit(o)
	}
	kept, omitted := c.finish()
	short := make([]string, 0, len(kept))
	for _, o := range kept {
		short = append(short, string("TVBI"[o.Kind])+":"+o.Text+string(o.Data))
	}
	return short, omitted
}

func text(s string) Output      { return Output{Kind: Text, Text: s} }
func value(s string) Output     { return Output{Kind: Value, Text: s} }
func traceback(s string) Output { return Output{Kind: Traceback, Text: s} }
func image(s string) Output {
	return Output{Kind: Image, Data: []byte(s), MIME: "image/png"}
}

func TestOutputsAreMergedAndCutToSize(t *testing.T) {
	small := Limits{MaxOutput: 10}
	for _, c := range []struct {
		name    string
		limits  Limits
		outs    []Output
		want    []string
		omitted int64
	}{
		{name: "nothing"},
		{name: "empty ones", outs: []Output{text(""), value(""), text("")}},
		{
			name: "adjacent text", outs: []Output{text("a"), text("b"), value("c"), value("d"), text("e"), text("f")},
			want: []string{"T:ab", "V:c", "V:d", "T:ef"},
		},
		{
			name: "order", outs: []Output{text("a"), image("i"), text("b"), value("v"), traceback("t")},
			want: []string{"T:a", "I:i", "T:b", "V:v", "B:t"},
		},
		{name: "just fits", limits: small, outs: []Output{text("0123456789")}, want: []string{"T:0123456789"}},
		{name: "just fits in pieces", limits: small, outs: []Output{text("012345"), text("6789")}, want: []string{"T:0123456789"}},
		{
			name: "one too many", limits: small, outs: []Output{text("0123456789a")},
			want: []string{"T:01234\n… 1 bytes omitted …\n6789a"}, omitted: 1,
		},
		{
			name: "byte by byte", limits: small, outs: slices.Repeat([]Output{text("x")}, 1000),
			want: []string{"T:xxxxx\n… 990 bytes omitted …\nxxxxx"}, omitted: 990,
		},
		{
			name: "one line larger than all buffers", limits: small, outs: []Output{text("<" + strings.Repeat("x", 1<<20) + ">")},
			want: []string{"T:<xxxx\n… 1048568 bytes omitted …\nxxxx>"}, omitted: 1<<20 - 8,
		},
		{
			name: "rune borders", limits: small, outs: []Output{text("€€€€€€€€€€")},
			want: []string{"T:€\n… 24 bytes omitted …\n€"}, omitted: 24,
		},
		{
			name: "traceback at the end stays", limits: Limits{MaxOutput: 20},
			outs: []Output{text(strings.Repeat("x", 100)), traceback("Error: e")},
			want: []string{"T:xxxxxxxxxx\n… 88 bytes omitted …\nxx", "B:Error: e"}, omitted: 88,
		},
		{
			name: "long traceback keeps its kind", limits: small, outs: []Output{traceback("Traceback" + strings.Repeat(".", 50) + "Error")},
			want: []string{"B:Trace\n… 54 bytes omitted …\nError"}, omitted: 54,
		},
		{
			name: "value over the border is one", limits: small, outs: []Output{text("abc"), value("01234"), text("z")},
			want: []string{"T:abc", "V:01234", "T:z"},
		},
		{
			name: "values do not merge at the border", limits: small, outs: []Output{value("01234"), value("56789")},
			want: []string{"V:01234", "V:56789"},
		},
		{
			name: "images stay where text is dropped", limits: small,
			outs: []Output{text("0123456789"), image("A"), text("0123456789"), image("B"), text("0123456789"), image("C")},
			want: []string{"T:01234\n… 20 bytes omitted …\n", "I:A", "I:B", "T:56789", "I:C"}, omitted: 20,
		},
		{
			name: "too many images", limits: Limits{MaxImages: 1}, outs: []Output{image("A"), image("B"), image("C"), text("z")},
			want: []string{"I:A", "T:" + imageTooMany + imageTooMany + "z"},
		},
		{
			name: "too large images", limits: Limits{MaxImageBytes: 4}, outs: []Output{image("12345"), image("123"), image("12"), image("1")},
			want: []string{"T:" + imageTooLarge, "I:123", "T:" + imageTooLarge, "I:1"},
		},
		{
			name: "no images", limits: Limits{MaxImages: -1}, outs: []Output{image("A")},
			want: []string{"T:" + imageTooMany},
		},
		{
			name: "image of an absurd type", outs: []Output{{Kind: Image, MIME: strings.Repeat("m", 1000)}},
			want: []string{"T:" + imageTooLarge},
		},
		{
			name: "rune split over chunks", outs: []Output{text("a\xf0\x9f"), text("\x98"), text("\x80b")},
			want: []string{"T:a😀b"},
		},
		{
			name: "rune split around an image", outs: []Output{text("a\xe2"), image("I"), text("\x82\xac")},
			want: []string{"T:a", "I:I", "T:€"},
		},
		{name: "rune never ended", outs: []Output{text("a\xe2\x82")}, want: []string{"T:a\uFFFD\uFFFD"}},
		{name: "invalid", outs: []Output{text("\xff\xfe"), value("\xe2"), traceback("a\xed\xa0\x80")}, want: []string{"T:\uFFFD\uFFFD", "V:\uFFFD", "B:a\uFFFD\uFFFD\uFFFD"}},
		{name: "NUL, escapes, carriage returns", outs: []Output{text("\x00\x1b[31m\r50%\r100%\u202e")}, want: []string{"T:\x00\x1b[31m\r50%\r100%\u202e"}},
		{name: "one byte", limits: Limits{MaxOutput: 1}, outs: []Output{text("ab€")}, want: []string{"T:\n… 5 bytes omitted …\n"}, omitted: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, omitted := collect(c.limits, c.outs...)
			if !slices.Equal(got, c.want) || omitted != c.omitted {
				t.Errorf("got  %q, %d omitted\nwant %q, %d omitted", got, omitted, c.want, c.omitted)
			}
		})
	}
}

// However text is cut into chunks, the same is kept of it.
func TestChunkingDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "é", "€", "😀", "\n", "\x00", "\xff", "\xe2\x82", "\xf0\x9f"}
	for range 300 {
		var all strings.Builder
		for range random.IntN(200) {
			all.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		limits := Limits{MaxOutput: 1 + random.IntN(300)}
		want, wantOmitted := collect(limits, text(all.String()))
		var chunks []Output
		for rest := all.String(); rest != ""; {
			n := 1 + random.IntN(min(len(rest), 9))
			chunks = append(chunks, text(rest[:n]))
			rest = rest[n:]
		}
		got, omitted := collect(limits, chunks...)
		if !slices.Equal(got, want) || omitted != wantOmitted {
			t.Fatalf("%q in %d: got %q, %d; want %q, %d", all.String(), limits.MaxOutput, got, omitted, want, wantOmitted)
		}
	}
}

// Whatever comes, it is valid, within bounds, and accounted for.
func FuzzCollectorKeepsItsBounds(f *testing.F) {
	f.Add([]byte("abc\xff€"), uint16(10))
	f.Add([]byte("\x00\x01\x02\x03aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), uint16(3))
	f.Fuzz(func(t *testing.T, script []byte, limit uint16) {
		limits := Limits{MaxOutput: 1 + int(limit), MaxImages: 3, MaxImageBytes: 20}
		c := newCollector(limits.withDefaults(), func() {})
		for len(script) > 0 {
			n := 1 + int(script[0])%40
			n = min(n, len(script))
			o := Output{Kind: OutputKind(script[0] % 4), Text: string(script[:n])}
			if o.Kind == Image {
				o.Text, o.Data = "", script[:n]
			}
			c.emit(o)
			script = script[n:]
		}
		outs, omitted := c.finish()
		size, images, imageBytes := 0, 0, 0
		for i, o := range outs {
			size += len(o.Text)
			if !utf8.ValidString(o.Text) {
				t.Errorf("output %d is not valid: %q", i, o.Text)
			}
			switch {
			case o.Kind == Image:
				images++
				imageBytes += len(o.Data)
			case o.Text == "":
				t.Errorf("output %d is empty", i)
			case i > 0 && o.Kind == Text && outs[i-1].Kind == Text:
				t.Errorf("output %d is not merged", i)
			}
		}
		if omitted > 0 {
			size -= len(fmt.Sprintf("\n… %d bytes omitted …\n", omitted))
		}
		if size > limits.MaxOutput || images > 3 || imageBytes > 20 {
			t.Errorf("%d bytes of text, %d images, %d bytes of images", size, images, imageBytes)
		}
	})
}

func TestFloodIsReportedOnceAndMemoryStaysFlat(t *testing.T) {
	floods := 0
	limits := Limits{MaxOutput: 1000}.withDefaults()
	c := newCollector(limits, func() { floods++ })
	chunk := strings.Repeat("x", 1<<20)
	for i := range 70 {
		c.emit(text(chunk))
		if want := i >= 64; (floods == 1) != want {
			t.Fatalf("after %d MiB: flooded %d times", i+1, floods)
		}
	}
	held := 0
	for _, p := range slices.Concat(c.head, c.middle, c.tail) {
		held += cap(p.text)
	}
	if held > 256<<10 {
		t.Errorf("%d bytes are held", held)
	}
	c.emit(traceback("KeyboardInterrupt"))
	outs, omitted := c.finish()
	if last := outs[len(outs)-1]; last.Text != "KeyboardInterrupt" || omitted != 70<<20-1000+17 {
		t.Errorf("last %q, %d omitted", last.Text, omitted)
	}
}

func TestFloodOfDroppedImagesIsAFlood(t *testing.T) {
	floods := 0
	c := newCollector(Limits{MaxImages: 1}.withDefaults(), func() { floods++ })
	picture := image(strings.Repeat("x", 1<<20))
	for range 100 {
		c.emit(picture)
	}
	if floods != 1 {
		t.Errorf("flooded %d times", floods)
	}
}

func TestManySmallOutputsAreBounded(t *testing.T) {
	c := newCollector(Limits{MaxOutput: 1 << 20}.withDefaults(), func() {})
	for range 100_000 {
		c.emit(value("v"))
		c.emit(text("t"))
	}
	outs, omitted := c.finish()
	if len(outs) > 2*maxPieces+1 || omitted == 0 {
		t.Errorf("%d outputs, %d omitted", len(outs), omitted)
	}
}

func TestLateOutputIsIgnored(t *testing.T) {
	c := newCollector(Limits{}.withDefaults(), func() {})
	c.emit(text("in time"))
	outs, _ := c.finish()
	c.emit(text("late"))
	c.emit(image("late"))
	again, _ := c.finish()
	if len(outs) != 1 || outs[0].Text != "in time" || len(again) != 1 || again[0].Text != "in time" {
		t.Errorf("%v, then %v", outs, again)
	}
}

func TestKeptImageIsACopy(t *testing.T) {
	c := newCollector(Limits{}.withDefaults(), func() {})
	buffer := []byte("png")
	c.emit(Output{Kind: Image, Data: buffer})
	copy(buffer, "xxx")
	if outs, _ := c.finish(); string(outs[0].Data) != "png" {
		t.Errorf("got %q", outs[0].Data)
	}
}
