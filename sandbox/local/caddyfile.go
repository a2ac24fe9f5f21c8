package local

import (
	"math"
	"strconv"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"
)

// UnmarshalCaddyfile sets up the provider from Caddyfile tokens. Syntax:
//
//	local {
//		python     <path>
//		memory     <size>
//		processes  <count>
//		open_files <count>
//		disk       <size>
//		uids       <first> [<count>]
//		env        <name> <value>
//	}
//
// The option env may be given several times.
func (l *Local) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume provider name
	if d.NextArg() {
		return d.ArgErr()
	}
	seen := make(map[string]bool)
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		option := d.Val()
		if seen[option] && option != "env" {
			return d.Errf("%s already specified", option)
		}
		seen[option] = true
		if err := l.unmarshalOption(d, option); err != nil {
			return err
		}
	}
	return nil
}

func (l *Local) unmarshalOption(d *caddyfile.Dispenser, option string) error {
	args := d.RemainingArgs()
	want := 1
	if option == "env" || option == "uids" && len(args) == 2 {
		want = 2
	}
	if len(args) != want {
		return d.ArgErr()
	}
	switch option {
	case "python":
		l.Python = args[0]
	case "memory":
		return parseSize(d, option, args[0], &l.Memory)
	case "disk":
		return parseSize(d, option, args[0], &l.Disk)
	case "processes":
		return parseCount(d, option, args[0], &l.Processes)
	case "open_files":
		return parseCount(d, option, args[0], &l.OpenFiles)
	case "uids":
		return l.unmarshalUIDs(d, args)
	case "env":
		if _, ok := l.Env[args[0]]; ok {
			return d.Errf("env %s already specified", args[0])
		}
		if l.Env == nil {
			l.Env = make(map[string]string)
		}
		l.Env[args[0]] = args[1]
	default:
		return d.Errf("unrecognized option: %s", option)
	}
	return nil
}

func (l *Local) unmarshalUIDs(d *caddyfile.Dispenser, args []string) error {
	for i, field := range []*uint32{&l.FirstUID, &l.UIDs}[:len(args)] {
		n, err := strconv.ParseUint(args[i], 10, 32)
		if err != nil || n == 0 {
			return d.Errf("invalid uids: %s is not a positive number", args[i])
		}
		*field = uint32(n)
	}
	return nil
}

func parseSize(d *caddyfile.Dispenser, option, arg string, field *int64) error {
	n, err := humanize.ParseBytes(arg)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return d.Errf("invalid %s: %s is not a size like 512MiB", option, arg)
	}
	*field = int64(n)
	return nil
}

func parseCount(d *caddyfile.Dispenser, option, arg string, field *int) error {
	n, err := strconv.ParseUint(arg, 10, 31)
	if err != nil || n == 0 {
		return d.Errf("invalid %s: %s is not a positive number", option, arg)
	}
	*field = int(n)
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Local)(nil)
