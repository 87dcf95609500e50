terraform {
  backend "local" {
    path = "elsewhere.tfstate"
  }
}
module "inner" {
  source = "./inner"
}
output "paths" {
  value = [path.root, path.module, module.inner.paths]
}
