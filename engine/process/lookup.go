package process

import "ferrox/engine"

// Record implements engine.Workers.
func (r *Runner) Record(dir string) (engine.WorkerExit, bool) {
	exit, there, err := readExit(dir)
	return exit, there && err == nil
}

// ReadSpec reads what a shim is to run.
func ReadSpec(specFile string) (s engine.WorkerSpec, err error) {
	err = readJSON(specFile, &s)
	return s, err
}
