package packet

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ferrox/lanes"
)

// maxID is the longest id in bytes. Ids become parts of file and branch names, which end at 255 bytes.
const maxID = 100

// folderPrefix is the id at the start of a folder's name, "AB-012" of "AB-012-short-slug".
var folderPrefix = pattern(`^[\p{L}][\p{L}\p{N}_]*-\p{Nd}+`)

// windowsNames cannot be file names on Windows, whatever their ending.
var windowsNames = pattern(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// CheckID says why an id cannot be used: it could be taken for a path, an option or a revision, or it cannot be a file
// name everywhere. Blanks inside and letters of any language are fine.
func CheckID(id lanes.TaskID) error {
	if why := idFault(string(id)); why != nil {
		return fmt.Errorf("checking the task id %q: %w; rename the task", shorten(string(id)), why)
	}
	return nil
}

func idFault(id string) error {
	switch {
	case id == "":
		return errors.New("it is empty")
	case len(id) > maxID:
		return fmt.Errorf("it has %d bytes and %d is the most", len(id), maxID)
	case !utf8.ValidString(id):
		return errors.New("it is not UTF-8")
	case strings.IndexFunc(id, invisible) >= 0:
		return errors.New("it has a character that cannot be seen")
	case strings.ContainsAny(id, `/\`):
		return errors.New("it could be taken for a path")
	case strings.ContainsAny(id, "~^:?*[<>|\"") || strings.Contains(id, "@{") || id == "@":
		return errors.New("it has a character that git or a file system does not take")
	}
	return endsFault(id)
}

// endsFault looks at how an id begins, ends and reads as a file name.
func endsFault(id string) error {
	switch {
	case id[0] == '-':
		return errors.New("it could be taken for an option")
	case id[0] == '.' || strings.Contains(id, ".."):
		return errors.New("it could be taken for a folder above or a hidden file")
	case strings.TrimSpace(id) != id || strings.HasSuffix(id, "."):
		return errors.New("it begins or ends with a blank, or ends with a full stop")
	case strings.HasSuffix(strings.ToLower(id), ".lock"):
		return errors.New("it ends with .lock, as git's lock files do")
	case windowsNames().MatchString(id):
		return errors.New("it is a device name on Windows")
	}
	return nil
}

// invisible reports characters that would make two ids look the same or break a line.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) ||
		r != ' ' && unicode.IsSpace(r)
}

// folderID returns the id that a folder's name begins with, or "".
func folderID(name string) lanes.TaskID { return lanes.TaskID(folderPrefix().FindString(name)) }

// shorten cuts a text for a message.
func shorten(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
