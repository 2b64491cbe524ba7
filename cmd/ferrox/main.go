// Command ferrox runs batches of coding-agent tasks in parallel lanes and holds those that wait for a ruling.
package main

import "os"

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ())) }
