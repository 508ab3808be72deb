# A package, an app, and modules for NixOS and home-manager. It was written by the manual and has
# never been evaluated: there is no nix where ringfence is built and tested. `make build` is what is
# tested. vendorHash is empty on purpose: the first build names the right one.
{
  description = "ringfence: runs an AI coding agent in a sandbox built from nothing";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      module = put: { config, lib, pkgs, ... }: {
        options.programs.ringfence.enable = lib.mkEnableOption "ringfence";
        config = lib.mkIf config.programs.ringfence.enable (put self.packages.${pkgs.stdenv.hostPlatform.system}.default);
      };
    in
    {
      packages = each (pkgs: {
        default = pkgs.buildGoModule {
          pname = "ringfence";
          version = self.shortRev or "dirty";
          src = self;
          vendorHash = pkgs.lib.fakeHash;
          env.CGO_ENABLED = 0;
          subPackages = [ "cmd/ringfence" ];
          doCheck = false; # the tests raise walls, which nix's own sandbox does not let them
          meta.mainProgram = "ringfence";
        };
      });

      apps = each (pkgs: {
        default = {
          type = "app";
          program = "${self.packages.${pkgs.stdenv.hostPlatform.system}.default}/bin/ringfence";
        };
      });

      nixosModules.default = module (package: { environment.systemPackages = [ package ]; });
      homeModules.default = module (package: { home.packages = [ package ]; });
    };
}
