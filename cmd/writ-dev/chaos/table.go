package chaos

import (
	"strings"
	"unicode/utf8"
)

// table is text that is a table in a terminal and in Markdown: its first column is aligned to
// the left and the others, which are numbers, to the right.
type table struct {
	rows [][]string // the first one is the heading; all have as many cells
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, cells := range t.rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for n, cells := range t.rows {
		for i, cell := range cells {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				text.WriteString("| " + cell + padding + " |")
			} else {
				text.WriteString(" " + padding + cell + " |")
			}
		}
		text.WriteByte('\n')
		if n == 0 {
			t.rule(&text, widths)
		}
	}
	return text.String()
}

// rule writes the line below the heading, which says to Markdown how the columns are aligned.
func (t *table) rule(text *strings.Builder, widths []int) {
	for i, width := range widths {
		if i == 0 {
			text.WriteString("| " + strings.Repeat("-", width) + " |")
		} else {
			text.WriteString(" " + strings.Repeat("-", width-1) + ": |")
		}
	}
	text.WriteByte('\n')
}
