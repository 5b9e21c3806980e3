package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
)

// gone is after how long a worker that did not ask for work no longer counts: one that
// finds none asks every minute.
const gone = 2 * time.Minute

const credentials = "correct the credentials: TEMPORAL_API_KEY, TEMPORAL_TLS_* or the profile that TEMPORAL_PROFILE names"

func temporalReachable(f facts) finding {
	if err := f.version.err; err != nil {
		if deniedBy(err) {
			return lost(err, credentials, fail)
		}
		return lost(err, "start Temporal, or correct TEMPORAL_ADDRESS and its TLS settings", fail)
	}
	return ok("Temporal %s at %s", f.version.value, f.address)
}

func temporalNamespace(f facts) finding {
	if err := f.names.err; err != nil {
		switch {
		case missingNamespace(err):
			return lost(err, fmt.Sprintf("run `temporal operator namespace create --namespace %s --retention 720h`, or correct TEMPORAL_NAMESPACE", f.namespace), fail)
		case deniedBy(err):
			return lost(err, credentials+"; or correct TEMPORAL_NAMESPACE", fail)
		}
		return lost(err, "look into Temporal's log", fail)
	}
	n := f.names.value
	switch {
	case !n.Usable:
		return fail("name another one in TEMPORAL_NAMESPACE", "%s is deprecated or deleted", f.namespace)
	case !n.Updates:
		return fail("use Temporal 1.28 or newer, or set frontend.enableUpdateWorkflowExecution and frontend.enableExecuteMultiOperation",
			"%s takes no updates, by which callers are told that a request is accepted", f.namespace)
	}
	return ok("%s, which shows workflows for %s after their end", f.namespace, days(n.Retention))
}

func temporalSearchAttributes(f facts) finding {
	if err := f.attributes.err; err != nil {
		return lost(err, "let Writ list search attributes, or look with `temporal operator search-attribute list`", warn)
	}
	switch a := f.attributes.value; {
	case len(a.mistyped) > 0:
		return fail("remove them with `temporal operator search-attribute remove`, and start a worker, which registers them",
			"%s: of another type than Keyword, so that no workflow can start", strings.Join(a.mistyped, ", "))
	case len(a.missing) > 0:
		return warn("start a worker, which registers them before it polls", "%s: not registered", strings.Join(a.missing, ", "))
	}
	return ok("all are registered")
}

func workers(f facts) finding {
	if err := f.queues.err; err != nil {
		return lost(err, "let the role read tool_specs", fail)
	}
	if err := f.polled.err; err != nil {
		return lost(err, "look into Temporal's log", fail)
	}
	if len(f.queues.value) == 0 {
		return warn("start one: `writ worker`, or a program of your own with writ.NewWorker", "no worker has published a tool")
	}
	var idle, served []string
	for _, queue := range f.queues.value {
		p := f.polled.value[queue.Name]
		if n := len(p.Workers); n > 0 && f.now.Sub(p.Last) < gone {
			served = append(served, fmt.Sprintf("%s on task queue %s", some(n, "worker"), queue.Name))
		} else {
			idle = append(idle, fmt.Sprintf("none on task queue %s, whose tools are %s", queue.Name, strings.Join(queue.Tools, ", ")))
		}
	}
	if len(idle) > 0 {
		return warn("start a worker on the task queue (`writ worker --task-queue` or your own); until then requests for these tools wait",
			"%s", strings.Join(append(idle, served...), "; "))
	}
	return ok("%s", strings.Join(served, "; "))
}

// deniedBy reports whether Temporal knows the caller too little.
func deniedBy(err error) bool {
	code := codeOf(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}

func missingNamespace(err error) bool {
	var missing *serviceerror.NamespaceNotFound
	return errors.As(err, &missing) || codeOf(err) == codes.NotFound
}

// codeOf returns gRPC's code of an error of Temporal's.
func codeOf(err error) codes.Code {
	var known serviceerror.ServiceError
	if errors.As(err, &known) {
		return known.Status().Code()
	}
	return serviceerror.ToStatus(err).Code()
}

func days(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return some(int(d/day), "day")
	}
	return d.String()
}
