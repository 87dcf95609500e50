module "n" {
  source = "./m"
}
resource "terraform_data" "tuple" {
  input = [module.n.oldout, module.n.fine]
}
resource "terraform_data" "direct" {
  input = module.n.oldout
}
output "o" {
  value = module.n.oldout
}
