package gitcli

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ferrox/engine/crash"
)

// write stores objects. They are files as git writes them: never seen half-written, and on disk for good only once they
// were flushed (sync). A repository that is shared between users has rules about who may read them, which git knows.
func (r *Repo) write(ctx context.Context, objects []object, digits int) error {
	if shared, err := r.shared(ctx); err != nil || shared {
		return errors.Join(err, r.unpack(ctx, objects, digits))
	}
	defer crash.Around("write objects")()
	for _, o := range objects {
		if err := r.writeLoose(o, o.oid(digits)); err != nil {
			return fmt.Errorf("write an object: %w", err)
		}
	}
	return nil
}

// writeLoose stores one object, unless it is there; then it is made young again, so that no clean-up takes it.
func (r *Repo) writeLoose(o object, oid string) error {
	dir := filepath.Join(r.common, "objects", oid[:2])
	name := filepath.Join(dir, oid[2:])
	if info, err := os.Lstat(name); err == nil && info.Size() > 0 {
		now := time.Now()
		return os.Chtimes(name, now, now)
	}
	data, err := r.deflate(o)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	temp := filepath.Join(dir, "tmp_obj_"+rand.Text()) // git's clean-up knows the name
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// deflate makes what git keeps of an object in a file.
func (r *Repo) deflate(o object) ([]byte, error) {
	var b bytes.Buffer
	z, ok := r.deflaters.Get().(*zlib.Writer)
	if !ok {
		z = zlib.NewWriter(&b) // large: it is kept
	}
	defer r.deflaters.Put(z)
	z.Reset(&b)
	_, err := fmt.Fprintf(z, "%s %d\x00", o.kind, len(o.data))
	if err == nil {
		_, err = z.Write(o.data)
	}
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}
