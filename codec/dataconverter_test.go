package codec_test

import (
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"writ/codec"
	"writ/intent"
)

func TestARawValueIsOpenedAndKeepsItsOwnEncoding(t *testing.T) {
	t.Parallel()
	dc := keys(t, entry("a", 1)).DataConverter(converter.GetDefaultDataConverter())
	sent, err := dc.ToPayloads(map[string]string{"card": "CANARY"})
	if err != nil || strings.Contains(sent.String(), "CANARY") {
		t.Fatalf("%v, %v", sent, err)
	}
	var raw converter.RawValue
	if err := dc.FromPayloads(sent, &raw); err != nil {
		t.Fatal(err)
	}
	p := raw.Payload()
	if string(p.GetMetadata()[converter.MetadataEncoding]) != converter.MetadataEncodingJSON || string(p.GetData()) != `{"card":"CANARY"}` {
		t.Errorf("the raw value is %v", p)
	}
}

// A workflow whose history a worker cannot read has not failed: another worker may have the key.
func TestWithoutTheKeyAWorkflowsTaskFailsAndAnywhereElseThereIsAnError(t *testing.T) {
	t.Parallel()
	parent := converter.GetDefaultDataConverter()
	sent, err := keys(t, entry("a", 1)).DataConverter(parent).ToPayload("CANARY")
	if err != nil {
		t.Fatal(err)
	}
	dc := codec.Keys{}.DataConverter(parent)
	var into string
	if err := dc.FromPayload(sent, &into); intent.CodeOf(err) != intent.CodePayloadKeyMissing || into != "" {
		t.Errorf("outside of a workflow: %q, %v", into, err)
	}
	inWorkflow := dc.(workflow.ContextAware).WithWorkflowContext(nil)
	defer func() {
		err, _ := recover().(error)
		if intent.CodeOf(err) != intent.CodePayloadKeyMissing || into != "" {
			t.Errorf("in a workflow: %q, %v", into, err)
		}
	}()
	err = inWorkflow.FromPayload(sent, &into)
	t.Errorf("in a workflow it returns %v", err)
}

func TestAWorkflowIsToldAsBeforeOfWhatIsWrongWithAnOpenPayload(t *testing.T) {
	t.Parallel()
	dc := keys(t, entry("a", 1)).DataConverter(converter.GetDefaultDataConverter())
	sent, err := dc.ToPayload("a text")
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if err := dc.(workflow.ContextAware).WithWorkflowContext(nil).FromPayload(sent, &number); err == nil || codec.Unopened(err) {
		t.Errorf("a text is read as a number: %v", err)
	}
}

func TestMessagesOfFailuresAreSealedAndComeBack(t *testing.T) {
	t.Parallel()
	dc := keys(t, entry("a", 1)).DataConverter(converter.GetDefaultDataConverter())
	fc := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc, EncodeCommonAttributes: true})
	sent := fc.ErrorToFailure(temporal.NewApplicationError("CANARY", "kind", "CANARY detail"))
	if strings.Contains(sent.String(), "CANARY") {
		t.Errorf("the failure shows %v", sent)
	}
	var back *temporal.ApplicationError
	if !errors.As(fc.FailureToError(sent), &back) || back.Message() != "CANARY" {
		t.Errorf("it comes back as %v", back)
	}
}
