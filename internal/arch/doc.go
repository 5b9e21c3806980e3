// Package arch keeps the shape of the repository. Its tests read the source of both
// modules and fail when an import points upwards, when the pure floor reaches for the
// world, when SQL or pgx appears outside the packages that own them, when the root module
// pulls in the embedded Temporal server, or when a file names a folder of somebody's
// machine. The table of floors is in house_test.go; a new package must find its place
// there. Nothing may import this package.
package arch
