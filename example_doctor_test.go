package writ_test

import (
	"context"
	"fmt"
	"log"

	"writ"
	"writ/doctor"
)

// Check at the start of a service that what Writ stands on is as it has to be.
func ExampleDoctor() {
	cfg, err := writ.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	report, err := writ.Doctor(context.Background(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	for _, check := range report.Checks {
		if check.Status != doctor.OK {
			fmt.Printf("%s %s: %s. %s\n", check.Status, check.Name, check.Found, check.Mend)
		}
	}
	if !report.OK {
		log.Fatal("mend what failed first")
	}
}
