package embedded

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.temporal.io/server/common/dynamicconfig"
)

func TestComposeSetsTheServerAsItIsEmbedded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	compose := string(text)
	settings := tuning().(dynamicconfig.StaticClient)
	for key, value := range settings {
		if want := fmt.Sprintf("%s: [{ value: %v }]\n", key, value); !strings.Contains(strings.ToLower(compose), strings.ToLower(want)) {
			t.Errorf("docker-compose.yml lacks the setting %s", want)
		}
	}
	if got := strings.Count(compose, "[{ value: "); got != len(settings) {
		t.Errorf("docker-compose.yml has %d settings of the server, cmd/writ-dev %d", got, len(settings))
	}
	if want := fmt.Sprintf("--retention %gh\n", retention.Hours()); !strings.Contains(compose, want) {
		t.Errorf("docker-compose.yml does not create the namespace with %s", want)
	}
}
