package process

import "ferrox/engine"

// Record implements engine.Workers.
func (r *Runner) Record(dir string) (engine.WorkerExit, bool) {
	exit, there, err := readExit(dir)
	return exit, there && err == nil
}

// SpecStore reads which state folder a shim's spec file belongs to.
func SpecStore(specFile string) (string, error) {
	var s engine.WorkerSpec
	if err := readJSON(specFile, &s); err != nil {
		return "", err
	}
	return s.Store, nil
}
