variable "t" {
  type    = bool
  default = true
}

module "p" {
  source = "./p"
}

resource "terraform_data" "waits" {
  input      = "w"
  depends_on = [module.p.absent]
}

output "branch" {
  value = var.t ? 1 : module.p.nope
}

output "constant" {
  value = true ? 1 : module.p.nope
}
