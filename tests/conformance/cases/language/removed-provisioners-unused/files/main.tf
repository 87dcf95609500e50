removed {
  from = terraform_data.x
  lifecycle {
    destroy = false
  }
  provisioner "local-exec" {
    when    = destroy
    command = "x"
  }
}
removed {
  from = module.c.terraform_data.x
  lifecycle {
    destroy = false
  }
  provisioner "local-exec" {
    when    = destroy
    command = "x"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "y"
  }
}
