// Command torture puts locks, and the data they protect, to the test.
package main

import "os"

func main() { os.Exit(run(os.Args[1:])) }
