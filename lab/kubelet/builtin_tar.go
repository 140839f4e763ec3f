package kubelet

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// tarCommand packs and unpacks in the two forms that kubectl cp uses: tar cf -
// PATH, and tar -xmf - [-C DIRECTORY].
func tarCommand(c *call) error {
	unpack, directory, names, err := tarArguments(c.args)
	if err != nil {
		return err
	}
	if unpack {
		return untar(c.root, inRoot(directory), c.in)
	}
	writer := tar.NewWriter(c.out)
	for _, name := range names {
		if err := addToTar(c.root, writer, path.Join(directory, name)); err != nil {
			return err
		}
	}
	return writer.Close()
}

func tarArguments(args []string) (unpack bool, directory string, names []string, err error) {
	refused := errors.New("only cf - PATH and xf - [-C DIRECTORY] are known here")
	seen := false
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--no-same-permissions", arg == "--no-same-owner":
		case arg == "-C" && i+1 < len(args):
			i++
			directory = args[i]
		case !seen && i+1 < len(args) && args[i+1] == "-":
			seen = true
			switch strings.TrimPrefix(arg, "-") {
			case "cf":
			case "xf", "xmf":
				unpack = true
			default:
				return false, "", nil, refused
			}
			i++
		case !strings.HasPrefix(arg, "-"):
			names = append(names, arg)
		default:
			return false, "", nil, refused
		}
	}
	if !seen || unpack == (len(names) > 0) {
		return false, "", nil, refused
	}
	return unpack, directory, names, nil
}

func addToTar(root *os.Root, writer *tar.Writer, name string) error {
	return fs.WalkDir(root.FS(), inRoot(name), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil
		}
		header, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		header.Name = file
		if err := writer.WriteHeader(header); err != nil || info.IsDir() {
			return err
		}
		content, err := root.Open(file)
		if err != nil {
			return err
		}
		defer content.Close()
		_, err = io.Copy(writer, content)
		return err
	})
}

func untar(root *os.Root, directory string, in io.Reader) error {
	reader := tar.NewReader(in)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			// What follows the end of an archive is read, so that the sender can finish.
			_, err = io.Copy(io.Discard, in)
			return err
		}
		if err != nil {
			return err
		}
		name := inRoot(path.Join(directory, header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			if err := root.MkdirAll(name, 0o700); err != nil {
				return err
			}
		case tar.TypeReg:
			if err := writeFile(root, name, reader); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is neither a file nor a directory", header.Name)
		}
	}
}

func writeFile(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
