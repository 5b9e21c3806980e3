package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The budget of one check. The library evaluates every branch of a schema and keeps every
// failure, so what a hostile document can cost is bounded here: in steps, where a
// step is one subschema that is compared with one value and may leave one failure behind.
const (
	// maxCheckMemory is what the failures of one check may take up, in bytes.
	maxCheckMemory = 256 << 20
	// stepMemory is what a failure takes up at least: the error and its kind.
	stepMemory = 384
	// levelMemory is one name of the path that a failure holds.
	levelMemory = 16
	// digitMemory is one digit of a number: exact arithmetic writes 1e6144 out, and
	// dividing by it takes time for each digit.
	digitMemory = 8
	// maxTokens bounds the names, values, brackets and braces of a document. 1 MiB of JSON
	// cannot have as many.
	maxTokens = 2 << 20
)

// size is what a document is like, as far as it decides what a step costs.
type size struct {
	depth int
	// digits is the length of the longest number, written out without an exponent.
	digits int
}

// steps is how many steps the check of such a document may take.
func (s size) steps() int {
	return maxCheckMemory / (stepMemory + levelMemory*s.depth + digitMemory*s.digits)
}

// measure reads a canonical document once, without building it.
func measure(canonical []byte) (size, error) {
	var s size
	dec := jsontext.NewDecoder(bytes.NewBuffer(canonical), jsontext.AllowDuplicateNames(true))
	for tokens := 0; ; tokens++ {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("measure a canonical document: %w", err)
		}
		if tokens == maxTokens {
			return s, uncheckable("it has too many values")
		}
		s.depth = max(s.depth, dec.StackDepth())
		if token.Kind() == jsontext.KindNumber {
			s.digits = max(s.digits, writtenOut(token.String()))
		}
	}
}

// writtenOut is how many digits a number has without an exponent.
func writtenOut(number string) int {
	mantissa, exponent, found := strings.Cut(number, "e")
	if !found {
		return len(number)
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return len(number)
	}
	return len(mantissa) + max(n, -n)
}

// digitsOf is how many digits the exact fraction of a schema's number has.
func digitsOf(r *big.Rat) int {
	if r == nil {
		return 0
	}
	return (r.Num().BitLen() + r.Denom().BitLen()) / 3
}

// spent is the panic that ends a check which has used up its steps: the library has no
// other way out. It does not leave this package.
type spent struct{}

// spend takes steps off the budget.
func (c *checker) spend(steps int) {
	if c.left -= steps; c.left < 0 {
		panic(spent{})
	}
}
