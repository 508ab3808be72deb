package container

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"

	"ringfence.dev/ringfence/internal/fault"
)

// nothing is the image that has nothing in it: everything comes by shares.
const nothing = "ringfence-nothing:1"

// makeImage makes an image of one layer, unless the engine has it; without a layer it has
// nothing in it. It is loaded and not imported: then it is the same image whoever makes it, so
// that first sessions which make it at the same time leave none without a name.
func (e *engine) makeImage(ctx context.Context, name string, layer []byte) error {
	err := e.call(ctx, "GET", "/images/"+escape(name)+"/json", nil, nil)
	var r *refusal
	if !errors.As(err, &r) || r.status != http.StatusNotFound {
		return err
	}
	b, err := imageArchive(name, layer)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err = e.ask(ctx, "POST", "/images/load?quiet=1", "application/x-tar", bytes.NewReader(b)); err != nil {
		return e.explain(err)
	}
	// An error on the way is a line of an answer that began well.
	if _, err := e.find(ctx, name); err != nil {
		return fault.New(fault.Failed, "use --rung native", "the engine did not take the image %s", name)
	}
	return nil
}

// imageArchive is an image as engines save and load one: a list, the settings, and one
// layer.
func imageArchive(name string, layer []byte) ([]byte, error) {
	if layer == nil {
		var empty bytes.Buffer
		if err := tar.NewWriter(&empty).Close(); err != nil {
			return nil, err
		}
		layer = empty.Bytes()
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{"architecture": runtime.GOARCH, "os": "linux", "config": struct{}{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}}})
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name string
		data []byte
	}{{"manifest.json", list}, {"config.json", config}, {"layer.tar", layer}} {
		err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data))})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
