package command

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/sallyport-io/sallyport/internal/app/usage"
)

// Confirm asks on a terminal whether an answer is meant.
func Confirm[T ~string](s Streams, answer T) error {
	file, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return usage.Errorf("there is no terminal to ask on; read what is asked for, and give --yes")
	}
	fmt.Fprintf(s.Err, "Answer %s? [y/N] ", answer)
	line, _ := bufio.NewReader(s.In).ReadString('\n')
	if line = strings.ToLower(strings.TrimSpace(line)); line != "y" && line != "yes" {
		return fmt.Errorf("nothing was answered")
	}
	return nil
}
