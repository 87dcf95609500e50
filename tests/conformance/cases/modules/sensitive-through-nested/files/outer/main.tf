variable "secret" {
  type      = string
  sensitive = true
}
module "inner" {
  source = "./inner"
  value  = var.secret
}
output "secret" {
  value     = module.inner.kept
  sensitive = true
}
output "pair" {
  value     = { open = "o", closed = module.inner.kept }
}
