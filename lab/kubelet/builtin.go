package kubelet

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"
	"time"
)

// notHere is the exit status of a command that is known not to be allowed.
const notHere = 126

// longestSleep bounds the built-in sleep.
const longestSleep = time.Hour

// call is one run of a built-in command. It sees the container's directory as
// the whole file system.
type call struct {
	c       *container
	args    []string
	root    *os.Root
	in      io.Reader
	out     io.Writer
	errOut  io.Writer
	context context.Context
}

// builtIns are the commands that can be run where no process may be started.
var builtIns map[string]func(*call) error

func init() {
	builtIns = map[string]func(*call) error{
		"cat": cat, "date": date, "echo": echo, "env": env, "hostname": hostname, "id": id, "ls": ls,
		"pwd": pwd, "sleep": sleep, "tar": tarCommand, "test": test, "whoami": whoami,
		"true":  func(*call) error { return nil },
		"false": func(*call) error { return exitStatus(1) },
	}
}

// exitStatus ends a built-in command with this status and without a message.
type exitStatus int

func (s exitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// builtIn runs a command without starting any process and returns its exit
// status.
func (c *container) builtIn(command []string, in io.Reader, out, errOut io.Writer, tty bool) int {
	out, errOut = orDiscard(out), orDiscard(errOut)
	if tty {
		out = carriageReturns{out}
		errOut = out
	}
	run, ok := builtIns[path.Base(command[0])]
	if !ok {
		names := make([]string, 0, len(builtIns))
		for name := range builtIns {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(errOut, "%s is not run here: pods of this lab know only %s\n", command[0], strings.Join(names, ", "))
		return notHere
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		fmt.Fprintf(errOut, "%s: %v\n", command[0], err)
		return 1
	}
	defer root.Close()
	if in == nil {
		in = strings.NewReader("")
	}
	err = run(&call{c: c, args: command[1:], root: root, in: in, out: out, errOut: errOut, context: c.ctx})
	if status, ok := err.(exitStatus); ok {
		return int(status)
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s: %v\n", command[0], err)
		return 1
	}
	return 0
}

// inRoot turns a path as the container sees it into one below its directory.
func inRoot(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

func cat(c *call) error {
	if len(c.args) == 0 {
		_, err := io.Copy(c.out, c.in)
		return err
	}
	for _, name := range c.args {
		if name == "-" {
			if _, err := io.Copy(c.out, c.in); err != nil {
				return err
			}
			continue
		}
		file, err := c.root.Open(inRoot(name))
		if err != nil {
			return err
		}
		_, err = io.Copy(c.out, file)
		_ = file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func date(c *call) error {
	_, err := fmt.Fprintln(c.out, time.Now().UTC().Format(time.UnixDate))
	return err
}

func echo(c *call) error {
	_, err := fmt.Fprintln(c.out, strings.Join(c.args, " "))
	return err
}

func env(c *call) error {
	for _, variable := range c.c.env {
		if strings.HasPrefix(variable, "PATH=") || strings.HasPrefix(variable, "HOME=") {
			continue
		}
		fmt.Fprintln(c.out, variable)
	}
	_, err := fmt.Fprintf(c.out, "PATH=/bin\nHOME=/\n")
	return err
}

func hostname(c *call) error {
	_, err := fmt.Fprintln(c.out, c.c.pod.Name)
	return err
}

func id(c *call) error {
	user := userOf(c.c.pod, c.c.name)
	_, err := fmt.Fprintf(c.out, "uid=%d gid=%d\n", user, user)
	return err
}

func whoami(c *call) error {
	name := "root"
	if user := userOf(c.c.pod, c.c.name); user != 0 {
		name = strconv.FormatInt(user, 10)
	}
	_, err := fmt.Fprintln(c.out, name)
	return err
}

func ls(c *call) error {
	var names []string
	for _, arg := range c.args {
		if !strings.HasPrefix(arg, "-") {
			names = append(names, arg)
		}
	}
	if len(names) == 0 {
		names = []string{"/"}
	}
	for _, name := range names {
		file, err := c.root.Open(inRoot(name))
		if err != nil {
			return err
		}
		entries, err := file.ReadDir(-1)
		_ = file.Close()
		if err != nil {
			fmt.Fprintln(c.out, name)
			continue
		}
		sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
		for _, entry := range entries {
			fmt.Fprintln(c.out, entry.Name())
		}
	}
	return nil
}

func pwd(c *call) error {
	_, err := fmt.Fprintln(c.out, "/")
	return err
}

func sleep(c *call) error {
	if len(c.args) != 1 {
		return fmt.Errorf("want one number of seconds")
	}
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(c.args[0], "s"), 64)
	length := time.Duration(seconds * float64(time.Second))
	if err != nil || length < 0 || length > longestSleep {
		return fmt.Errorf("%q is not a number of seconds from 0 to %.0f", c.args[0], longestSleep.Seconds())
	}
	select {
	case <-time.After(length):
		return nil
	case <-c.context.Done():
		return exitStatus(137)
	}
}

// test answers for -d, -e and -f: kubectl cp asks whether its destination is a
// directory.
func test(c *call) error {
	if len(c.args) != 2 {
		return exitStatus(2)
	}
	info, err := c.root.Stat(inRoot(c.args[1]))
	if err != nil {
		return exitStatus(1)
	}
	switch {
	case c.args[0] == "-e", c.args[0] == "-d" && info.IsDir(), c.args[0] == "-f" && info.Mode().IsRegular():
		return nil
	}
	return exitStatus(1)
}
