resource "terraform_data" "src" {
  input = "w"
}
module "null" {
  source = "./m"
  name   = terraform_data.src.output == "w" ? null : "y"
}
module "given" {
  source = "./m"
  name   = terraform_data.src.output == "w" ? "x" : "y"
}
output "m" {
  value = module.given.name
}
