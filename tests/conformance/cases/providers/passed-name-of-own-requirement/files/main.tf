provider "lab" {}
module "p" {
  source    = "./p"
  providers = { lab = lab }
}
module "q" {
  source    = "./q"
  providers = { lab = lab }
}
