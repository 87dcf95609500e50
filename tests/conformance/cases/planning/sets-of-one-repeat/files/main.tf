resource "terraform_data" "z" { input = "q" }
resource "terraform_data" "r" {
  count = length([for x in(terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])) : 1])
}
module "m" {
  source = "./m"
  v      = terraform_data.z.id == "" ? ["a"] : ["b"]
}
output "o" { value = module.m.o }
