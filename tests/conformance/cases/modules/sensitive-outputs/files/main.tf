variable "secret" {
  default   = "hush"
  sensitive = true
}
module "a" {
  source = "./a"
  in     = var.secret
  plain  = "plain"
}
module "b" {
  source = "./b"
  in     = module.a.out
}
resource "terraform_data" "r" {
  input = [module.a.out, module.a.plain, module.b.len]
}
output "plain" {
  value = module.a.plain
}
output "non" {
  value = nonsensitive(module.a.out)
}
output "marked" {
  value     = module.b.obj
  sensitive = true
}
