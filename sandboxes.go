package codeinterp

import (
	"context"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// pools holds what outlives a configuration: an equal sandbox keeps its
// containers over a reload. Configurations and requests both hold shares,
// because Caddy cleans a configuration up while its requests are still served
// (decision 22).
var pools = caddy.NewUsagePool()

// shared is one sandbox's containers, and the records of the responses that
// used them.
type shared struct {
	pool    *sandbox.Pool
	records *interceptor.Records
}

// drain is how long the end of a pool waits for its containers to be deleted.
const drain = 10 * time.Second

// Destruct ends every container; it is called when the last share is given
// back.
func (s *shared) Destruct() error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if err := s.pool.Close(ctx); err != nil {
		return fmt.Errorf("closing the container pool: %w", err)
	}
	return nil
}

// acquireShared takes a share, which releaseShared gives back.
func acquireShared(key string, provider sandbox.Provider, log *zap.Logger) (*shared, error) {
	v, _, err := pools.LoadOrNew(key, func() (caddy.Destructor, error) {
		return &shared{pool: sandbox.NewPool(provider, log), records: interceptor.NewRecords()}, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*shared), nil
}

func releaseShared(key string) error {
	_, err := pools.Delete(key)
	return err
}

// poolKey is the canonical form of the sandbox's own settings and nothing
// else, so that a reload with other limits keeps the containers.
func poolKey(raw []byte) (string, error) {
	v := jsontext.Value(append([]byte(nil), raw...))
	if err := v.Canonicalize(); err != nil {
		return "", fmt.Errorf("sandbox: reading its settings: %w", err)
	}
	return string(v), nil
}
