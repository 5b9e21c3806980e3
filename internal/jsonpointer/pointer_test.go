package jsonpointer

import "testing"

// rfc is the document of RFC 6901, section 5, with numbers and text for members.
const rfc = `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`

func TestAPointerNamesWhatRFC6901SaysItDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pointer, document, want string }{
		{"/foo/0", rfc, "bar"},
		{"/", rfc, "0"},
		{"/a~1b", rfc, "1"},
		{"/c%d", rfc, "2"},
		{"/e^f", rfc, "3"},
		{"/g|h", rfc, "4"},
		{`/i\j`, rfc, "5"},
		{`/k"l`, rfc, "6"},
		{"/ ", rfc, "7"},
		{"/m~0n", rfc, "8"},
		{"/~01", `{"~1":"escaped once"}`, "escaped once"},
		{"/a/", `{"a":{"":"the empty name"}}`, "the empty name"},
		{"/01", `{"01":"a name"}`, "a name"},
		{"/data/1/id", `{"data":[{"id":"a"},{"id":"b"}]}`, "b"},
		{"/n", `{"n":9007199254740993}`, "9007199254740993"},
		{"/n", `{"n":1.50}`, "1.50"},
	} {
		if got := Text([]byte(c.document), c.pointer); got != c.want {
			t.Errorf("%q names %q in %s, want %q", c.pointer, got, c.document, c.want)
		}
	}
}

func TestWhatIsNotThereIsEmpty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pointer, document string }{
		{"/foo", rfc},
		{"/foo/2", rfc},
		{"/foo/-", rfc},
		{"/foo/-1", rfc},
		{"/foo/+1", rfc},
		{"/foo/01", rfc},
		{"/foo/00", rfc},
		{"/foo/99999999999999999999", rfc},
		{"/foo/0/1", rfc},
		{"/missing/deeper", rfc},
		{"/a", `{"a":null}`},
		{"/a", `{"a":true}`},
		{"/a", `{"a":{"a":"x"}}`},
		{"/a", `{"a":"x"`},
		{"/a", `"a"`},
		{"/a", ``},
		{"", `"a"`},
		{"a", `{"a":"x"}`},
		{"/~2", `{"~2":"x"}`},
	} {
		if got := Text([]byte(c.document), c.pointer); got != "" {
			t.Errorf("%q names %q in %s", c.pointer, got, c.document)
		}
	}
}

func TestOnlyAPointerPassesTheCheck(t *testing.T) {
	t.Parallel()
	for _, pointer := range []string{"/", "/id", "/data/0/id", "/a~1b/m~0n", "/ä", "//"} {
		if err := Check(pointer); err != nil {
			t.Errorf("%q: %v", pointer, err)
		}
	}
	for _, pointer := range []string{"", "id", "$.id", "#/id", "/~", "/~2", "/a~", "/\xff"} {
		if Check(pointer) == nil {
			t.Errorf("%q is taken for a pointer", pointer)
		}
	}
}
