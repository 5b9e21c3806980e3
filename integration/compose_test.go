package integration

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// composition is what docker-compose.yml says, as far as the tests look at it.
type composition struct {
	Services map[string]service        `yaml:"services"`
	Configs  map[string]map[string]any `yaml:"configs"`
	Volumes  map[string]any            `yaml:"volumes"`
}

type service struct {
	Image       string                `yaml:"image"`
	Build       *build                `yaml:"build"`
	Command     []string              `yaml:"command"`
	Environment map[string]string     `yaml:"environment"`
	DependsOn   map[string]dependency `yaml:"depends_on"`
	Healthcheck map[string]any        `yaml:"healthcheck"`
	Restart     string                `yaml:"restart"`
	Ports       []string              `yaml:"ports"`
	Volumes     []string              `yaml:"volumes"`
	Configs     []mount               `yaml:"configs"`
}

type build struct {
	Context string `yaml:"context"`
	Target  string `yaml:"target"`
}

type dependency struct {
	Condition string `yaml:"condition"`
}

type mount struct {
	Source string `yaml:"source"`
	Target string `yaml:"target"`
}

func compose(t *testing.T) composition {
	t.Helper()
	var c composition
	if err := yaml.Unmarshal([]byte(repositoryFile(t, "docker-compose.yml")), &c); err != nil {
		t.Fatalf("docker-compose.yml: %v", err)
	}
	if len(c.Services) == 0 {
		t.Fatal("docker-compose.yml has no services")
	}
	return c
}

func repositoryFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestComposeStartsServicesOnlyAfterWhatTheyNeed(t *testing.T) {
	t.Parallel()
	c := compose(t)
	for name, s := range c.Services {
		for needed, d := range s.DependsOn {
			target, exists := c.Services[needed]
			switch {
			case !exists:
				t.Errorf("%s depends on %s, which is no service", name, needed)
			case d.Condition == "service_healthy" && target.Healthcheck == nil:
				t.Errorf("%s waits until %s is healthy, which has no health check", name, needed)
			case d.Condition == "service_completed_successfully" && !strings.HasPrefix(target.Restart, "on-failure"):
				t.Errorf("%s waits for the end of %s, which is restarted when it ends", name, needed)
			case d.Condition != "service_healthy" && d.Condition != "service_completed_successfully":
				t.Errorf("%s depends on %s with condition %q, which says nothing about readiness", name, needed, d.Condition)
			}
		}
	}
	for _, needed := range []string{"migrate", "temporal-namespace", "provider"} {
		if _, waits := c.Services["worker"].DependsOn[needed]; !waits {
			t.Errorf("the worker does not wait for %s", needed)
		}
	}
}

func TestComposeNamesOnlyWhatExists(t *testing.T) {
	t.Parallel()
	c := compose(t)
	stages := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^FROM \S+ AS (\S+)$`).FindAllStringSubmatch(repositoryFile(t, "Dockerfile"), -1) {
		stages[match[1]] = true
	}
	for name, s := range c.Services {
		if s.Build != nil && !stages[s.Build.Target] {
			t.Errorf("%s builds target %q, which the Dockerfile does not have", name, s.Build.Target)
		}
		for _, m := range s.Configs {
			if content, ok := c.Configs[m.Source]["content"].(string); !ok || content == "" {
				t.Errorf("%s mounts config %q, which has no content", name, m.Source)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[source]; !ok {
				t.Errorf("%s mounts volume %q, which is not declared", name, source)
			}
		}
	}
}

func TestComposeRunsCommandsThatExist(t *testing.T) {
	t.Parallel()
	binaries := map[string]string{"writ": "writ", "provider": "writ-provider"}
	for name, s := range compose(t).Services {
		if s.Build == nil {
			continue
		}
		// A word that is no command, or a flag that does not exist, shows in what --help says.
		binary := binaries[s.Build.Target]
		out, err := exec.Command(program(binary), append(slices.Clone(s.Command), "--help")...).CombinedOutput()
		usage := "Usage:\n  " + binary
		for _, word := range s.Command {
			if strings.HasPrefix(word, "-") {
				break
			}
			usage += " " + word
		}
		if err != nil || !strings.Contains(string(out), usage) {
			t.Errorf("%s runs %s %q, which says (%v):\n%s", name, binary, s.Command, err, out)
		}
	}
}

func TestComposeSetsOnlyVariablesThatTheReadmeExplains(t *testing.T) {
	t.Parallel()
	readme := repositoryFile(t, "README.md")
	for name, s := range compose(t).Services {
		if s.Build == nil {
			continue
		}
		for variable := range s.Environment {
			if !strings.Contains(readme, "`"+variable+"`") {
				t.Errorf("%s is given %s, which the README does not explain", name, variable)
			}
		}
	}
}

func TestComposeOpensPortsOnTheLoopbackInterfaceOnly(t *testing.T) {
	t.Parallel()
	for name, s := range compose(t).Services {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s opens %s to the network", name, port)
			}
		}
	}
}

func TestComposeRunsTheTemporalThatIsEmbedded(t *testing.T) {
	t.Parallel()
	c := compose(t)
	module := repositoryFile(t, "cmd/writ-dev/go.mod")
	for name, required := range map[string]string{
		"temporal":           "go.temporal.io/server v",
		"temporal-schema":    "go.temporal.io/server v",
		"temporal-namespace": "go.temporal.io/server v",
		"temporal-ui":        "github.com/temporalio/ui-server/v2 v",
	} {
		version := regexp.MustCompile(regexp.QuoteMeta(required) + `(\S+)`).FindStringSubmatch(module)
		if version == nil {
			t.Fatalf("cmd/writ-dev/go.mod does not require %s", required)
		}
		if image := c.Services[name].Image; !strings.HasSuffix(image, ":"+version[1]) {
			t.Errorf("%s runs %s; cmd/writ-dev embeds version %s", name, image, version[1])
		}
	}
}

func TestComposeKeepsThePostgreSQLSettingsThatRuleOneNeeds(t *testing.T) {
	t.Parallel()
	command := compose(t).Services["postgres"].Command
	for _, setting := range []string{"fsync=on", "full_page_writes=on", "synchronous_commit=on"} {
		if !slices.Contains(command, setting) {
			t.Errorf("postgres runs without %s", setting)
		}
	}
}

func TestTheImageIsBuiltWithTheLanguageThatTheModuleNeeds(t *testing.T) {
	t.Parallel()
	needed := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(repositoryFile(t, "go.mod"))
	used := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+)`).FindStringSubmatch(repositoryFile(t, "Dockerfile"))
	if needed == nil || used == nil || needed[1] != used[1] {
		t.Errorf("the Dockerfile builds with Go %v, go.mod asks for %v", used, needed)
	}
}
