package outbox

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"writ/intent"
)

// cursor is a place in a list: behind the last intent of a page.
type cursor struct {
	// since is the lower end of the list, resolved once by the first page, so that a list of
	// the last 24 hours does not lose its end while it is read; zero if it has none.
	since     time.Time
	createdAt time.Time
	id        intent.ID
}

// A cursor's text is base64url of: its version, the mark of its filter, since and createdAt
// in microseconds, and the id. It is no secret and gives no right; whoever writes one
// chooses a place in a list that they may read.
const (
	cursorVersion = 1
	markLength    = 16
	cursorLength  = 1 + markLength + 8 + 8 + len(intent.ID{})
)

var cursorText = base64.RawURLEncoding

// cursor returns the text of a place in the filter's list.
func (f Filter) cursor(c cursor) (string, error) {
	mark, err := f.mark()
	if err != nil {
		return "", err
	}
	return c.text(mark), nil
}

// position reads After.
func (f Filter) position() (cursor, error) {
	mark, err := f.mark()
	if err != nil {
		return cursor{}, err
	}
	return readCursor(f.After, mark)
}

// text writes a place in the list of that mark.
func (c cursor) text(mark [markLength]byte) string {
	b := append(make([]byte, 0, cursorLength), cursorVersion)
	b = append(b, mark[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.since.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.createdAt.UnixMicro()))
	b = append(b, c.id[:]...)
	return cursorText.EncodeToString(b)
}

// readCursor reads what text writes; the error has code invalid_cursor.
func readCursor(text string, mark [markLength]byte) (cursor, error) {
	b, err := cursorText.DecodeString(text)
	if err != nil || len(b) != cursorLength || b[0] != cursorVersion || cursorText.EncodeToString(b) != text {
		// The last of these: package base64 skips line breaks, and a cursor has one spelling.
		return cursor{}, intent.Errorf(intent.CodeInvalidCursor, "the cursor is none of this release; leave it out to begin with the first page")
	}
	b = b[1:]
	if [markLength]byte(b) != mark {
		return cursor{}, intent.Errorf(intent.CodeInvalidCursor,
			"the cursor belongs to a list with another filter; give the filter that it came with, or leave it out to begin with the first page")
	}
	b = b[markLength:]
	c := cursor{since: micros(b), createdAt: micros(b[8:]), id: intent.ID(b[16:])}
	if !storable(c.since) || !storable(c.createdAt) {
		return cursor{}, intent.Errorf(intent.CodeInvalidCursor, "the cursor was changed; leave it out to begin with the first page")
	}
	return c, nil
}

func micros(b []byte) time.Time { return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC() }
