package codec

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"writ/intent"
)

// DataConverter returns parent with every payload sealed and opened. Inside a workflow a payload
// that cannot be opened fails the workflow task, which Temporal gives again, perhaps to a worker
// that has the key; as an error it would end the workflow, or be taken for the failure of a step.
func (k Keys) DataConverter(parent converter.DataConverter) converter.DataConverter {
	return dataConverter{DataConverter: converter.NewCodecDataConverter(parent, k.Codec())}
}

type dataConverter struct {
	converter.DataConverter
	// workflow says that it works for workflow code.
	workflow bool
}

var _ workflow.ContextAware = dataConverter{}

// WithWorkflowContext is called by the SDK before workflow code uses the converter.
func (c dataConverter) WithWorkflowContext(workflow.Context) converter.DataConverter {
	c.workflow = true
	return c
}

// WithContext is called by the SDK before an activity uses the converter.
func (c dataConverter) WithContext(context.Context) converter.DataConverter { return c }

// WithSerializationContext hands the context on to a parent that wants it.
func (c dataConverter) WithSerializationContext(sc converter.SerializationContext) converter.DataConverter {
	c.DataConverter = converter.WithDataConverterSerializationContext(c.DataConverter, sc)
	return c
}

func (c dataConverter) FromPayload(p *commonpb.Payload, into any) error {
	return c.checked(c.DataConverter.FromPayload(p, into))
}

func (c dataConverter) FromPayloads(p *commonpb.Payloads, into ...any) error {
	return c.checked(c.DataConverter.FromPayloads(p, into...))
}

// checked panics in workflow code over a payload that was not opened: it is the SDK's way to
// fail the task and not the workflow.
func (c dataConverter) checked(err error) error {
	if c.workflow && Unopened(err) {
		panic(err)
	}
	return err
}

// Unopened reports whether err is about a payload that could not be opened.
func Unopened(err error) bool {
	var e *intent.Error
	return errors.As(err, &e) && (e.Code == intent.CodePayloadKeyMissing || e.Code == intent.CodePayloadNotAuthentic)
}
