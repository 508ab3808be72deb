package launch

import (
	"fmt"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/projectimage"
	"ringfence.dev/ringfence/internal/sandbox/ladder"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// projectImage lets the project name the image of a rung that has images, where nobody else
// did. Without trust in exactly this content the name is told and not used.
func (b *Base) projectImage() error {
	if b.Rung.Name() != policy.RungOfImages || b.Policy.Rung.Image != nil || b.Asked.NoProject || b.Asked.Server != "" {
		return nil
	}
	i := projectimage.Find(b.Workspaces[0].Path)
	if err := b.goneImages(i); err != nil {
		return err
	}
	switch {
	case i == nil:
		return nil
	case i.Builds: // usual for a project that makes an image of itself
		b.Said.Notice(fmt.Sprintf("the programs are this machine's. %s names no image: %s", i.File, i.Why))
		return nil
	case i.Name == "":
		b.Said.Warn(fmt.Sprintf("%s names no image, so the programs are this machine's: %s", i.File, i.Why))
		return nil
	}
	if o := b.Rung.Offer(); !o.Images {
		b.Said.Warn(fmt.Sprintf("%s names the image %s, which is ignored: the rung %s has no images, so the programs are this machine's", i.File, i.Name, rung.Title(b.Rung)))
		return nil
	}
	ok, err := b.Trusted(i.Key(), i.Digest)
	if err != nil {
		return err
	}
	if !ok {
		b.Ignored = append(b.Ignored, i.Change())
		return nil
	}
	if rest := i.Rest(); rest != "" {
		b.Said.Notice(fmt.Sprintf("of %s the image counts alone, and not: %s", i.File, rest))
	}
	with := *b.Policy // what holds without the project may be the same
	with.Rung.Image = i.Rule()
	b.Policy = &with
	b.Rung, err = ladder.Chosen(b.Policy)
	return err
}

// goneImages tells of a file that named an image, was trusted with that, and is not there any
// more: whoever removed it, perhaps an agent, chose other programs than the person did.
func (b *Base) goneImages(found *projectimage.Image) error {
	for _, name := range projectimage.Absent(found) {
		known, err := TrustStore(b.Dirs.State).Known(b.Workspaces[0].Path, projectimage.Key(name))
		if err != nil {
			return err
		}
		if known {
			b.Said.Warn(fmt.Sprintf("%s, which you trusted to name the image, is gone. If that is right: `ringfence trust`", name))
		}
	}
	return nil
}
