package panictext

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// maxFrames bounds the stack. What matters is at its top.
const maxFrames = 32

// Of describes the value of a panic and the stack that led to it. It is called in the deferred
// function that recovered, while the stack is still there. The description has the value's type,
// or Go's own words for an error of the runtime, and the functions with their places; unlike
// debug.Stack it has no arguments, in which a number could be read.
func Of(value any) string {
	var text strings.Builder
	text.WriteString("panic: ")
	text.WriteString(described(value))
	for _, frame := range stack() {
		fmt.Fprintf(&text, "\n%s\n\t%s:%d", frame.Function, frame.File, frame.Line)
	}
	return text.String()
}

// described says what panicked. The runtime's errors name types, indexes and lengths, and
// nothing that a program holds; another package's error may call itself one and say anything.
func described(value any) string {
	kind := reflect.TypeOf(value)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if err, ok := value.(runtime.Error); ok && kind.PkgPath() == "runtime" {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T, which is not repeated because it may hold a secret", value)
}

// stack returns the frames from the one that panicked on, without the runtime's own.
func stack() []runtime.Frame {
	pcs := make([]uintptr, 2*maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var kept []runtime.Frame
	for more := true; more && len(kept) < maxFrames; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			kept = nil // what was called since is the handling of the panic
		case frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime."):
			kept = append(kept, frame)
		}
	}
	return kept
}
