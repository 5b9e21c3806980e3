package stack

import (
	"errors"
	"net/url"
	"testing"
)

func TestADatabaseURLThatTemporalCannotUseIsRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"host=db dbname=writ",
		"postgres:///writ?host=/var/run/postgresql",
		"postgres://db:5432",
		"mysql://db/writ",
		"postgres://db:no-port/writ",
	} {
		_, _, err := givenServer(address).forTemporal(t.Context())
		var failure *Error
		if !errors.As(err, &failure) || failure.Code() != CodeDatabaseURLUnsupported {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestOnlyTheWayToTheServerIsTakenOverForTemporal(t *testing.T) {
	t.Parallel()
	query, err := url.ParseQuery("sslmode=verify-full&sslrootcert=ca.pem&search_path=mine&pool_max_conns=3&connect_timeout=5")
	if err != nil {
		t.Fatal(err)
	}
	if got := connectionSettings(query).Encode(); got != "connect_timeout=5&sslmode=verify-full&sslrootcert=ca.pem" {
		t.Errorf("got %s", got)
	}
}
