resource "terraform_data" "a" {
  connection {
    host = "h"
    nope { 
    }
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      user = "u"
    }
  }
}
