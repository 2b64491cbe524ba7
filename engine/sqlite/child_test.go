package sqlite

const (
	roleVariable = "FERROX_TEST_STORE_ROLE"
	pathVariable = "FERROX_TEST_STORE_PATH"
)

func child(role, path string) int { return 0 }
