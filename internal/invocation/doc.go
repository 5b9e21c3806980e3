// Package invocation holds the one value that only the engine, and tests inside this
// module, may construct: the permission for a single run of a tool. It lives under
// internal/ so that code outside Writ can receive an [Invocation] (as tools.Invocation)
// but never make one. It must never carry a credential, a client or a connection.
package invocation
