package headgate

import (
	"os"
	"strings"
)

// DefaultSocket returns the path of the daemon's socket if the program names none: $HEADGATE_SOCKET, else below $XDG_RUNTIME_DIR if the
// daemon's folder is there, else below /run. An empty variable counts as not set, and so does a relative XDG_RUNTIME_DIR.
func DefaultSocket() string { return defaultSocket(os.Getenv, isFolder) }

func defaultSocket(variable func(string) string, isFolder func(string) bool) string {
	if path := variable("HEADGATE_SOCKET"); path != "" {
		return path
	}
	var folders []string
	for _, directory := range []string{variable("XDG_RUNTIME_DIR"), "/run"} {
		if strings.HasPrefix(directory, "/") {
			folders = append(folders, directory+"/headgate")
		}
	}
	for _, folder := range folders {
		if isFolder(folder) {
			return folder + "/headgate.sock"
		}
	}
	return folders[0] + "/headgate.sock"
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
