package engine

import (
	"fmt"

	"ferrox/lanes"
	"ferrox/lanes/settings"
)

// SettingsFile is where a repository's settings are, relative to its root.
const SettingsFile = ".planning/config.json"

// settingsOf reads the settings that were frozen with a batch.
func settingsOf(b lanes.Batch) (settings.Settings, error) {
	if b.Settings == "" {
		return settings.Default(), nil
	}
	set, _, err := settings.Parse(SettingsFile+" (as frozen with batch "+string(b.ID)+")", []byte(b.Settings))
	if err != nil {
		return set, fmt.Errorf("read the settings of batch %s: %w", b.ID, err)
	}
	return set, nil
}
