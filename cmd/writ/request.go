package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ"
)

// toolOrRequest is the rule of execute's arguments: a tool, with flags for the rest, or
// --request, which is all of it.
func toolOrRequest(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("request") {
		return one("TOOL")(cmd, args)
	}
	mixed := len(args) > 0
	for _, flag := range []string{"payload", "key", "tenant", "principal", "role", "on-behalf-of", "service", "risk"} {
		mixed = mixed || cmd.Flags().Changed(flag)
	}
	if mixed {
		return fmt.Errorf("--request says everything about the request; leave out TOOL, --payload, --key, --tenant, --principal, --role, --on-behalf-of, --service and --risk")
	}
	return nil
}

// request returns what is asked for: what --request says, or the tool and the flags.
// Payloads may have limit bytes.
func (p *program) request(ctx context.Context, args []string, f executeFlags, limit int) (writ.Request, error) {
	if len(args) == 1 {
		payload, err := payloadOnly(limit).read(ctx, f.payload, p.stdin)
		return writ.Request{
			Tool: args[0], Payload: payload, RequestKey: f.key, Tenant: f.tenant, Principal: f.principal,
			Roles: f.roles, OnBehalfOf: f.onBehalfOf, Service: f.service, Risk: f.risk,
		}, err
	}
	text, err := wholeRequest(limit).read(ctx, f.request, p.stdin)
	if err != nil {
		return writ.Request{}, err
	}
	r, err := writ.ParseRequest(text)
	if err != nil {
		return writ.Request{}, err
	}
	r.Tenant = cmp.Or(r.Tenant, writ.DefaultTenant)
	if r.Principal == "" {
		r.Principal = f.principal
		if r.Roles == nil {
			r.Roles = f.roles
		}
		if r.OnBehalfOf == nil {
			r.OnBehalfOf = f.onBehalfOf
		}
	}
	r.Service = cmp.Or(r.Service, serviceName)
	return r, nil
}

// serviceName is the service of requests that name none.
const serviceName = "writ-cli"

// againWith says how the same command names the request's key.
func (f executeFlags) againWith(r writ.Request) string {
	if f.request == "" {
		return "--key " + plainWord(r.RequestKey)
	}
	return fmt.Sprintf(`"request_key":%s in the request`, quoted(r.RequestKey))
}

// joins says what the same request again does.
func (f executeFlags) joins(r writ.Request) string {
	return "the same command with " + f.againWith(r) + " is safe: it joins this intent"
}

// quoted writes a request key, which is printable ASCII, as JSON.
func quoted(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}
