package writ_test

import (
	"errors"
	"fmt"

	"writ"
)

// A request from elsewhere is taken exactly, or refused with the byte at which it is not.
func ExampleParseRequest() {
	for _, src := range []string{
		`{"tool":"echo","payload":{"hello":"world"},"principal":"ada"}`,
		`{"tool":"echo","Payload":{"hello":"world"},"principal":"ada"}`,
		`{"tool":"echo","payload":{"hello":"world","hello":"moon"},"principal":"ada"}`,
	} {
		request, err := writ.ParseRequest([]byte(src))
		if err == nil {
			err = request.Check()
		}
		var refused *writ.Error
		if errors.As(err, &refused) {
			fmt.Println(refused.Code, refused.Offset)
			continue
		}
		fmt.Println(request.Tool, string(request.Payload))
	}
	// Output:
	// echo {"hello":"world"}
	// unknown_member 15
	// duplicate_member 42
}
