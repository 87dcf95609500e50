variable "which" {
  default = "one"
  const   = true
}
module "mid" {
  source = "./mid"
  which  = var.which
}
output "o" {
  value = module.mid.o
}
