// Package loopback chooses and checks TCP ports on 127.0.0.1 for the servers
// that a development stack starts as neighbours.
//
// [FreePort] picks a port that nothing listens on; [Claim] says whether a
// port that a person asked for can be had. Neither keeps the port: the server
// that is started next binds it itself, so a caller that was given a free port
// tries another one when the bind fails.
//
// The package must never open a port on anything but the loopback interface.
package loopback
