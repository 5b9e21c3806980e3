package main

import (
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"writ/intent"
)

// identityFlags say who asks or decides. What they say is stated and not proven.
type identityFlags struct {
	principal         string
	roles, onBehalfOf []string
}

func (f *identityFlags) registerPrincipal(cmd *cobra.Command, who string) {
	cmd.Flags().StringVar(&f.principal, "principal", "", "`name` of "+who+" (default: $WRIT_PRINCIPAL, else the name of the operating system's user)")
}

func (f *identityFlags) registerStanding(cmd *cobra.Command, who string) {
	cmd.Flags().StringArrayVar(&f.roles, "role", nil, "`role` of "+who+"; may be repeated (default without --principal: $WRIT_ROLES, separated by commas)")
	cmd.Flags().StringArrayVar(&f.onBehalfOf, "on-behalf-of", nil, "`principal` for whom that one acts, the nearest first; may be repeated (default without --principal: $WRIT_ON_BEHALF_OF, separated by commas)")
}

// resolve completes what the flags leave open. The environment describes one identity: to whom
// --principal names, its roles and its delegation do not belong.
func (f *identityFlags) resolve(cmd *cobra.Command) error {
	if cmd.Flags().Changed("principal") {
		return intent.CheckIdentity(f.principal, intent.SortRoles(f.roles), f.onBehalfOf)
	}
	f.principal = defaultPrincipal()
	if !cmd.Flags().Changed("role") {
		f.roles = listed("WRIT_ROLES")
	}
	if !cmd.Flags().Changed("on-behalf-of") {
		f.onBehalfOf = listed("WRIT_ON_BEHALF_OF")
	}
	return nil // what the environment says is checked when it is used
}

// listed returns the names that a variable of the environment lists; nil if it is empty or not set.
func listed(variable string) []string {
	text := os.Getenv(variable)
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// defaultPrincipal is who asks where nobody is named; "" if the system does not know.
func defaultPrincipal() string {
	if name := os.Getenv("WRIT_PRINCIPAL"); name != "" {
		return name
	}
	if account, err := user.Current(); err == nil {
		return account.Username
	}
	return ""
}
