package sample_test

import (
	"fmt"
	"log"

	"writ/tools"
	"writ/tools/sample"
)

// The sample tools are registered like one's own. Registering them does not connect to
// the provider.
func ExampleTools() {
	list, err := sample.Tools(sample.Config{ProviderURL: "http://127.0.0.1:7766"})
	if err != nil {
		log.Fatal(err)
	}
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range registry.All() {
		fmt.Println(tool.Spec.Name, tool.Spec.Class())
	}

	capture, _ := registry.Lookup("payments.capture")
	fmt.Println(tools.Validate(capture, []byte(`{"payment_id":"pay_1","amount":129.9,"currency":"EUR"}`)))
	// Output:
	// documents.delete keyed
	// documents.purge transactional
	// documents.store transactional
	// echo read
	// newsletters.send opaque
	// notifications.send opaque
	// payments.capture keyed
	// payments.refund keyed
	// transfers.create reconcilable
	// input_schema_violation: payments.capture does not take this payload: /amount: must be a string (a positive decimal in a string, with at most three decimals, such as "129.90")
}
