package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) cmdDemo() *cobra.Command {
	return &cobra.Command{Use: "demo", Short: "a throw-away repository, a batch, a hold, a ruling, a merge, explained", Args: none(), RunE: func(*cobra.Command, []string) error {
		return fmt.Errorf("demo")
	}}
}
