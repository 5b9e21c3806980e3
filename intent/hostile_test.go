package intent_test

import (
	"runtime"
	"strings"
	"testing"

	"writ/intent"
)

// Not parallel: it measures allocation. A megabyte may cost some megabytes, not more,
// whoever reads it.
func TestHostileInputCostsMemoryInProportion(t *testing.T) {
	const size = 1 << 20
	for name, in := range map[string]string{
		"brackets":             strings.Repeat("[", size),
		"nested objects":       strings.Repeat(`{"a":`, size/5),
		"nested envelopes":     strings.Repeat(`{"payload":`, size/11),
		"digits":               strings.Repeat("9", size),
		"exponent":             "1e" + strings.Repeat("9", size),
		"zeros":                "0." + strings.Repeat("0", size) + "1",
		"growing numbers":      "[" + strings.Repeat("1e20,", size/8) + "1]",
		"deepest sortings":     strings.Repeat(`{"b":1,"a":`, 100) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("}", 100),
		"members":              "{" + manyMembers(size/16) + "}",
		"escapes of controls":  `"` + strings.Repeat(`\u0001`, size/6) + `"`,
		"escapes of pairs":     `"` + strings.Repeat(`\ud83d\ude00`, size/12) + `"`,
		"an object of escapes": `"` + strings.Repeat(`\u007b`, size/6) + `"`,
		"text in text":         `"{\"a\":` + strings.Repeat(`[`, size) + `"`,
		"backslashes":          `"` + strings.Repeat(`\\`, size/2) + `"`,
		"quotes":               strings.Repeat(`"`, size),
		"whitespace":           strings.Repeat(" ", size),
		"unknown member":       `{"` + strings.Repeat("x", size) + `":1}`,
		"one member again":     "{" + strings.Repeat(`"tool":1,`, size/9) + `"tool":1}`,
	} {
		for reader, read := range map[string]func(intent.Value){
			"Canonicalize": func(v intent.Value) { _, _ = intent.Canonicalize(v.Raw) },
			"ReadPayload":  func(v intent.Value) { _, _ = intent.ReadPayload(v, 8*size) },
			"ReadEnvelope": func(v intent.Value) {
				if e, err := intent.ReadEnvelope(v, "request", envelopeMembers); err == nil {
					_, _ = e.Name("tool")
				}
			},
			"ReadEnvelope of a payload": func(v intent.Value) {
				inside := intent.Value{Raw: append(append([]byte(`{"payload":`), v.Raw...), '}')}
				if e, err := intent.ReadEnvelope(inside, "request", envelopeMembers); err == nil {
					_, _ = intent.ReadPayload(e["payload"], 8*size)
				}
			},
		} {
			v := intent.Value{Raw: []byte(in)}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read(v)
			runtime.ReadMemStats(&after)
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 64*size {
				t.Errorf("%s, %s: %d bytes of input cost %d bytes of memory", reader, name, len(in), spent)
			}
		}
	}
}

// manyMembers are n members of different names.
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.Repeat("a", i%7))
		for ; i > 0; i /= 16 {
			b.WriteByte("0123456789bcdefg"[i%16])
		}
		b.WriteString(`":1`)
	}
	return b.String()
}
